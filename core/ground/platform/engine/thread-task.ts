import { parentPort, Worker, workerData } from "node:worker_threads";

/** Heap of such a thread, in megabytes: it may list millions of names. */
const heapMb = 1024;

/**
 * Has a thread of its own answer one question, so that work which never waits holds up no other work.
 * @param file path of the script, which calls {@link answerTask}
 * @param bounds.ms after which the thread is ended; default: never
 * @throws what the thread throws, and where it ends without an answer
 */
export async function askThread(
  file: string,
  question: unknown,
  bounds: { ms?: number; heapMb?: number } = {},
): Promise<unknown> {
  const thread = new Worker(file, {
    workerData: question,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: bounds.heapMb ?? heapMb },
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const said = await new Promise<{ answer: unknown } | { fault: string }>((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
      if (bounds.ms !== undefined) {
        timer = setTimeout(() => reject(new Error(`It took longer than ${bounds.ms} ms.`)), bounds.ms);
      }
      thread.once("exit", (code) => reject(new Error(`A thread ended with ${code} and gave no answer.`)));
    });
    if ("fault" in said) throw new Error(said.fault);
    return said.answer;
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}

/** Answers the question of {@link askThread}, in the thread. */
export function answerTask(answer: (question: unknown) => unknown): void {
  try {
    parentPort?.postMessage({ answer: answer(workerData) });
  } catch (error) {
    // One that is thrown here would end the host's process on one of the runtimes.
    parentPort?.postMessage({ fault: error instanceof Error ? error.message : String(error) });
  }
}
