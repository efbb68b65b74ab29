import { describe, expect, test } from "vitest";
import { OpenRequests, policyAnswer } from "../../core/session/open-requests.ts";
import type { PermissionOption, PermissionRequestEvent } from "../../plugin-sdk/events.ts";

describe("OpenRequests", () => {
  test("the first answer wins, and whoever asks before or after gets it", async () => {
    const requests = new OpenRequests();
    requests.add("r");
    const early = requests.wait("r");
    expect(requests.settle("r", "yes")).toBe(true);
    expect(requests.settle("r", "no")).toBe(false);
    expect(await Promise.all([early, requests.wait("r")])).toEqual(["yes", "yes"]);
  });

  test("a request that nobody asked is not answered and waits for nobody", async () => {
    const requests = new OpenRequests();
    expect(requests.settle("r", "yes")).toBe(false);
    expect(await requests.wait("r")).toBeNull();
  });

  test("takes() knows only what is open and, where there are choices, only those", () => {
    const requests = new OpenRequests();
    requests.add("choice", ["yes", "no"]);
    requests.add("free");
    expect(["yes", "no", "", "YES"].map((choice) => requests.takes("choice", choice))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(requests.takes("free", "anything")).toBe(true);
    expect(requests.takes("unknown", "yes")).toBe(false);
    requests.settle("choice", "yes");
    expect(requests.takes("choice", "yes")).toBe(false);
  });

  test("close() answers all that is open with null", async () => {
    const requests = new OpenRequests();
    for (const id of ["a", "b"]) requests.add(id);
    requests.settle("a", "yes");
    const waiting = requests.wait("b");
    requests.close();
    expect(await Promise.all([requests.wait("a"), waiting])).toEqual(["yes", null]);
  });
});

describe("policyAnswer", () => {
  const kinds = ["allow_once", "allow_always", "reject_once", "reject_always"] as const;
  const asked = (...offered: PermissionOption["kind"][]): PermissionRequestEvent => ({
    type: "permission_request",
    request_id: "r",
    tool: "t",
    title: "May I?",
    options: offered.map((kind) => ({ id: `id of ${kind}`, label: kind, kind })),
  });

  test.each(
    [
      ["all", kinds, "id of allow_once"],
      ["all", ["allow_always", "reject_once"], "id of allow_always"],
      ["deny", kinds, "id of reject_once"],
      ["deny", ["allow_once", "reject_always"], "id of reject_always"],
      ["deny", ["allow_once"], null],
      ["all", ["reject_once"], null],
      ["ask", kinds, null],
      [undefined, kinds, null],
    ] as const,
  )("approval %s of %s is %s", (approval, offered, answer) => {
    expect(policyAnswer(asked(...offered), approval)).toBe(answer);
  });
});
