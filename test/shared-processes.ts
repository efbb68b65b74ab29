/**
 * Folders whose tests call functions, change nothing of the process that they run in, and use no fixture with hooks of
 * its own, which would run for the first file alone. Their files share processes: to load the modules anew for each is
 * more work than the tests are.
 */
export const sharingFolders: readonly string[] = [
  "test/agents",
  "test/walls/channel",
  "test/ground/config",
  "test/fuzz",
  "test/records/git",
  "test/records/journal",
  "test/lint",
  "test/ground/log",
  "test/plugin-sdk",
  "test/ground/prompt",
  "test/sessions/routing",
  "test/sessions/session",
  "test/structure",
];

/** Those in them that need a process of their own all the same. */
export const notSharing: readonly string[] = ["test/sessions/session/properties.test.ts"];
