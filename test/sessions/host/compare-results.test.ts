import { expect, test } from "vitest";
import { compareResults } from "../../../core/sessions/host/compare-results.ts";
import type { Artifact } from "../../../plugin-sdk/result.ts";
import { fakeResult } from "../../doors/cli/fake-host.ts";

function artifact(path: string, sha256: string): Artifact {
  return { path, change: "modified", kind: "file", sha256, bytes: 1 };
}

test("sessions side by side: figures, lines of their patches, and what more than one changed", () => {
  const patch = `diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,3 +1,3 @@
 same
--- a removed line that looks like a header
-two
++++ an added one
+2
\\ No newline at end of file
@@ -9 +9,2 @@
-nine
+9
+ten
diff --git a/b b/b
Binary files a/b and b/b differ
`;
  const one = fakeResult({ session_id: "s1", artifacts: [artifact("a", "x"), artifact("b", "y"), artifact("d", "q")] });
  const two = fakeResult({ session_id: "s2", artifacts: [artifact("b", "y"), artifact("a", "z")] });
  const three = fakeResult({ session_id: "s3", artifacts: null });
  const { sessions, overlapping_files } = compareResults([
    { result: one, patch },
    { result: two, patch: "" },
    { result: three, patch: null },
  ]);
  expect(sessions.map(({ files_changed, lines_added, lines_removed }) => [files_changed, lines_added, lines_removed]))
    .toEqual([[3, 4, 3], [2, 0, 0], [null, null, null]]);
  expect(sessions[0]).toMatchObject({ session_id: "s1", adapter_id: "alpha", outcome: "completed" });
  expect(overlapping_files).toEqual([
    { path: "a", session_ids: ["s1", "s2"], same: false },
    { path: "b", session_ids: ["s1", "s2"], same: true },
  ]);
});
