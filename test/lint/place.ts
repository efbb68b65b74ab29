const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);

/** Path of a linted file in the repository; a file outside keeps its whole path. */
export function placeOf(filename: string): string {
  const path = filename.replaceAll("\\", "/");
  return path.startsWith(root) ? path.slice(root.length) : path;
}

/** True for a file in one of these folders. */
export function isIn(filename: string, ...folders: string[]): boolean {
  const place = placeOf(filename);
  return folders.some((folder) => place.startsWith(`${folder}/`));
}
