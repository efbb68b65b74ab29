import valid from "semver/functions/valid.js";

/**
 * Returns the nearest semantic version: `2026.08.11` becomes `2026.8.11`, `v1.2` becomes `1.2.0`, and a fourth number
 * counts as a pre-release. A text without numbers becomes `0.1.0`.
 */
export function plainVersion(text: string): string {
  const whole = valid(text);
  if (whole !== null) return whole;
  const [, numbers, rest = ""] = /^v?(\d+(?:\.\d+)*)(?:[-+.](.*))?$/.exec(text.trim()) ?? [];
  if (numbers === undefined) return "0.1.0";
  const [major = 0, minor = 0, patch = 0, ...more] = numbers.split(".").map(Number);
  const after = [...more.map(String), ...rest.split(/[^0-9A-Za-z-]+/).filter((part) => part !== "")];
  const tail = after.map((part) => /^\d+$/.test(part) ? String(Number(part)) : part).join(".");
  return valid(`${major}.${minor}.${patch}${tail === "" ? "" : `-${tail}`}`) ?? "0.1.0";
}
