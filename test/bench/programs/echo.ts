import process from "node:process";

// Gives back what it reads, until its input ends.
process.stdin.on("data", (bytes: Uint8Array) => process.stdout.write(bytes));
