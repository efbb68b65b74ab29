import { Near } from "./near.tsx";
import { ReviewFile } from "./review-file.tsx";
import { groupId, groupSize, heightOf, type ReviewedFiles } from "./reviewed-files.ts";

/** Height of a file's head, to begin with. */
const headHeight = 54;

/** Every changed file with its lines, drawn where a person looks. */
export function ReviewFiles({ of: reviewed }: { of: ReviewedFiles }) {
  const { files } = reviewed;
  const groups = Array.from(
    { length: Math.ceil(files.length / groupSize) },
    (_, at) => files.slice(at * groupSize, (at + 1) * groupSize),
  );
  return (
    <div class="diff review-diff">
      {groups.map((group, at) => (
        <Near
          key={at}
          id={groupId(at)}
          height={group.reduce((sum, file) => sum + headHeight + heightOf(file), 0)}
        >
          {() => group.map((file) => <ReviewFile key={file.path} file={file} of={reviewed} />)}
        </Near>
      ))}
    </div>
  );
}
