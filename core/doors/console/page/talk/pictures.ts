import { type Signal, signal } from "@preact/signals";
import { imageTypes } from "../../../../ground/platform/files/content-type.ts";

/** Pixels of a picture's longer side: it is drawn at half of that. */
const longestSide = 144;
/** Pictures that are kept: the oldest one goes. */
const mostPictures = 100;

/**
 * Small pictures of the images that this page has sent, by their hashes. The host gives no image back, so that other
 * messages have names alone. They are pixels, drawn into a canvas: no address of an image is ever made.
 */
export class Pictures {
  readonly #kept: Signal<ReadonlyMap<string, ImageBitmap>> = signal(new Map());

  /** The picture of an image that this page has sent. */
  of(sha256: string): ImageBitmap | undefined {
    return this.#kept.value.get(sha256);
  }

  keep(sha256: string, picture: ImageBitmap): void {
    const kept = [...this.#kept.peek()].filter(([known]) => known !== sha256).slice(1 - mostPictures);
    this.#kept.value = new Map([...kept, [sha256, picture]]);
  }
}

/** Makes a small picture of an image; null for one that the browser cannot read, and for all that is no image of pixels. */
export async function pictureOf(bytes: Blob, mimeType: string): Promise<ImageBitmap | null> {
  if (!imageTypes.has(mimeType)) return null;
  try {
    const whole = await createImageBitmap(new Blob([bytes], { type: mimeType }));
    const scale = Math.min(1, longestSide / Math.max(whole.width, whole.height));
    const small = await createImageBitmap(whole, {
      resizeWidth: Math.max(1, Math.round(whole.width * scale)),
      resizeHeight: Math.max(1, Math.round(whole.height * scale)),
      resizeQuality: "medium",
    });
    whole.close();
    return small;
  } catch {
    return null;
  }
}
