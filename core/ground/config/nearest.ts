/** The known word nearest to an unknown one, ignoring case; null when none is near. */
export function nearest(unknown: string, known: readonly string[]): string | null {
  const [near] = known
    .map((word) => ({ word, distance: editDistance(unknown.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, distance }) => {
      const shorter = Math.min(word.length, unknown.length);
      // A word without a letter in common is another one, however short.
      return distance < Math.max(1, shorter) && distance <= Math.max(1, Math.floor(shorter / 3));
    })
    .sort((a, b) => a.distance - b.distance);
  return near?.word ?? null;
}

/** Edit distance between two words, where swapping two neighbours counts as one edit. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 3 || a.length > 64) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, beforeLast[j - 2]! + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
