/**
 * A name as the most forgiving file system reads it: case, composition, ignored code points (HFS+, see CVE-2014-9390),
 * dots and blanks at the end and alternate streams (NTFS) make no difference.
 */
export function foldName(name: string): string {
  const visible = name.normalize("NFKC").replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "");
  return visible.toLowerCase().replace(/:.*$/s, "").replace(/[. ]+$/, "");
}
