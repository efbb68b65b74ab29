/** Name of a test's file within the project, from a report that may have been written in another clone. */
export function ownName(path) {
  return path.slice(path.lastIndexOf("/test/") + 1);
}
