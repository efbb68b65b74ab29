// Starts a program as a session does, and prints what descriptors it has.
const isDeno = "Deno" in globalThis;
const { spawnChild } = await import(
  isDeno
    ? "../../../../core/ground/platform/processes/child-process.ts"
    : "../../../../dist/core/ground/platform/processes/child-process.js"
);
const options = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, stdin: "closed", mark: "start-child-test" };
const child = await spawnChild("sh", ["-c", "ls -l /proc/$$/fd; (echo hello >&7) 2>/dev/null; echo end"], options);
let text = "";
const decoder = new TextDecoder();
for (let piece = await child.stdout.read(); piece !== null; piece = await child.stdout.read()) {
  text += decoder.decode(piece, { stream: true });
}
console.log(JSON.stringify({ text, exit: await child.exited }));
