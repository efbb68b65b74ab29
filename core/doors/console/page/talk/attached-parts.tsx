import { useLayoutEffect, useRef } from "preact/hooks";
import type { AttachmentPart } from "../../../../../plugin-sdk/messages.ts";
import { useConsole } from "../console-context.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";

interface AttachedPartsProps {
  of: readonly AttachmentPart[];
  /** Absent: they stay. */
  remove?: (part: AttachmentPart) => void;
}

/** Images and files of a message: a small picture where this page has one, else the kind and the name. */
export function AttachedParts({ of: parts, remove }: AttachedPartsProps) {
  const { pictures } = useConsole();
  if (parts.length === 0) return null;
  return (
    <ul class="attached" aria-label="Images and files">
      {parts.map((part) => {
        const picture = part.type === "image" ? pictures.of(part.sha256) : undefined;
        return (
          <li class="attached-part" key={part.sha256}>
            {picture !== undefined && <Picture of={picture} label={partName(part)} />}
            {picture === undefined && <PartName of={part} />}
            {remove !== undefined && (
              <button
                type="button"
                class="plain"
                aria-label={`Remove ${partName(part)}`}
                onClick={() => remove(part)}
              >
                ×
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function PartName({ of: part }: { of: AttachmentPart }) {
  return (
    <>
      <span class="tag">{part.type === "image" ? "Image" : "File"}</span>{" "}
      <span class="one-line">
        <Text of={part.type === "image" ? imageName(part) : part.name} />
      </span>
    </>
  );
}

/** A name for one line. An image has none of its own: its type and the beginning of its hash tell it apart. */
export function partName(part: AttachmentPart): string {
  return part.type === "image" ? `image ${imageName(part)}` : plainText(part.name, 80);
}

function imageName({ sha256, mime_type }: AttachmentPart): string {
  return `${plainText(mime_type.replace(/^image\//, ""), 20).toUpperCase()} ${sha256.slice(0, 6)}`;
}

/** A picture as pixels. */
export function Picture({ of: picture, label }: { of: ImageBitmap; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const drawn = canvas.current;
    if (drawn === null) return;
    drawn.width = picture.width;
    drawn.height = picture.height;
    drawn.getContext("2d")?.drawImage(picture, 0, 0);
  }, [picture]);
  return <canvas class="picture" ref={canvas} role="img" aria-label={label} />;
}
