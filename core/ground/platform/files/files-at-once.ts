// Calls that hold the thread until they are done: for threads that do nothing else.
export { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
