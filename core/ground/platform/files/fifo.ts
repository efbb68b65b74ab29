import { execFile } from "node:child_process";

/** Makes a named pipe; neither runtime can by itself. */
export function makeFifo(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile("mkfifo", [path], (error) => (error ? reject(error) : resolve()));
  });
}
