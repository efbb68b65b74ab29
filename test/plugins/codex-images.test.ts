import { expect, test } from "vitest";
import { over, runServer, server } from "./codex-server.ts";
import { seen, sha256 } from "./seen-image.ts";

test("Codex gets the path of an image", async () => {
  const { sent } = await runServer(server((id) => [over(id)]), { options: seen });
  const [started] = sent.filter(({ method }) => method === "turn/start");
  expect(started).toMatchObject({
    params: { input: [{ type: "localImage", path: `/temp/${sha256.slice(0, 12)}` }, { type: "text" }] },
  });
});
