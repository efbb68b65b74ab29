import { expect, test } from "vitest";
import { shareCalls } from "../../../../core/ground/platform/engine/share-calls.ts";

test("callers share a run that began after their calls, and the next one after a run that failed", async () => {
  const ends: ((value: string) => void)[] = [];
  let runs = 0;
  const call = shareCalls(() => {
    runs += 1;
    const name = `run ${runs}`;
    return new Promise<string>((resolve, reject) =>
      ends.push((how) => how === "fail" ? reject(new Error(name)) : resolve(name))
    );
  });
  const [one, two, three] = [call(), call(), call()];
  expect(runs).toBe(1);
  ends[0]?.("end");
  expect(await one).toBe("run 1");
  await expect.poll(() => runs).toBe(2);
  const four = call();
  ends[1]?.("fail");
  await expect(two).rejects.toThrow("run 2");
  await expect(three).rejects.toThrow("run 2");
  await expect.poll(() => runs).toBe(3);
  ends[2]?.("end");
  expect(await four).toBe("run 3");
  const five = call();
  ends[3]?.("end");
  expect(await five).toBe("run 4");
  expect(runs).toBe(4);
});
