/** Clears up what a fixture made. */
type CleanUp = () => void | Promise<void>;

// Fixtures register here when they are loaded, which happens once in a process that several test files share. A hook of
// vitest's own would belong to the first of those files alone.
const afterTests: CleanUp[] = [];
const afterFiles: CleanUp[] = [];

/** Has a fixture clear up after each test of each file; the last one registered comes first. */
export function afterEveryTest(cleanUp: CleanUp): void {
  afterTests.unshift(cleanUp);
}

/** Has a fixture clear up when a test file has ended; the last one registered comes first. */
export function afterEveryFile(cleanUp: CleanUp): void {
  afterFiles.unshift(cleanUp);
}

/** Clears up after a test. */
export async function cleanUpTest(): Promise<void> {
  for (const cleanUp of afterTests) await cleanUp();
}

/** Clears up after a test file. */
export async function cleanUpFile(): Promise<void> {
  for (const cleanUp of afterFiles) await cleanUp();
}
