import { expect, test } from "vitest";
import { movedAnswer, movesBetween } from "../../../core/records/wire/moved-answer.ts";

const before = { home: "/home/ada", top: "/home/ada/project", workdir: "/home/ada/project", branch: "main" };
const after = { home: "/home/ada", top: "/var/tree/7/project", workdir: "/var/tree/7/project" };
const moves = movesBetween(before, after);
const event = (value: object) => `event: x\ndata: ${JSON.stringify(value)}\n\n`;

test("movedAnswer moves the paths of an answer, and no path beside them", () => {
  const answer = JSON.stringify({ a: "/home/ada/project/x.ts /home/ada/project-two /home/ada/.z -home-ada-project." });
  expect(movedAnswer(answer, moves)).toBe(
    JSON.stringify({ a: "/var/tree/7/project/x.ts /home/ada/project-two /home/ada/.z -var-tree-7-project." }),
  );
  expect(movesBetween(before, { ...before, branch: "other" })).toBeNull();
});

test("movedAnswer moves a path that is spread over the events of one block, whatever comes between", () => {
  const part = (index: number, partial_json: string) =>
    event({ type: "delta", index, delta: { type: "json", partial_json } });
  const stream = [
    event({ type: "start", index: 0 }),
    part(0, '{"file_path":"/ho'),
    part(1, "/home/a"),
    part(0, "me/ada/pro"),
    ": keep\n\n",
    part(0, 'ject/a.txt","and":"/home/ada/project'),
    part(1, "da"),
    part(0, '/b.txt"}'),
    "data: [DONE]\n\n",
  ].join("");
  expect(movedAnswer(stream, moves)).toBe([
    event({ type: "start", index: 0 }),
    part(0, '{"file_path":"/var/tree/7/project'),
    part(1, "/home/a"),
    part(0, ""),
    ": keep\n\n",
    part(0, '/a.txt","and":"/var/tree/7/project'),
    part(1, "da"),
    part(0, '/b.txt"}'),
    "data: [DONE]\n\n",
  ].join(""));
});

test("movedAnswer leaves a stream without such paths as it is, letter by letter", () => {
  const stream = 'data:{"a" : "x"}\r\n\r\ndata: {"b":1.0}\n\n';
  expect(movedAnswer(stream, moves)).toBe(stream);
});
