import { useEffect, useRef, useState } from "preact/hooks";

/** Parts of the strip in each second, by the words of their choices. */
const speeds = { "1×": 5, "2×": 10, "5×": 25 } as const;

/** A walk through the parts of a strip, one after another. */
export interface StripPlay {
  isPlaying: boolean;
  speed: keyof typeof speeds;
  setSpeed(speed: keyof typeof speeds): void;
  toggle(): void;
}

interface PlayOptions {
  /** Null: no person has moved on the strip. */
  at: number | null;
  part: number;
  /** The part at which a walk begins that has no other, and the one at which it stops. */
  first: number;
  last: number;
  move(part: number): void;
}

/** Walks through a strip until its end, or until a person stops it. */
export function useStripPlay({ at, part, first, last, move }: PlayOptions): StripPlay {
  const [isPlaying, setIsPlaying] = useState(false);
  const [speed, setSpeed] = useState<keyof typeof speeds>("1×");
  const here = useRef(part);
  here.current = part;
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setInterval(() => {
      const next = Math.min(here.current + 1, last);
      move(next);
      if (next === last) setIsPlaying(false);
    }, 1000 / speeds[speed]);
    return () => clearInterval(timer);
  }, [isPlaying, speed, last]);
  const toggle = () => {
    if (!isPlaying && (at === null || part === last)) move(first);
    setIsPlaying(!isPlaying);
  };
  return { isPlaying, speed, setSpeed, toggle };
}

/** The button and the speed of a walk. */
export function PlayControls({ isPlaying, speed, setSpeed, toggle }: StripPlay) {
  return (
    <div class="strip-play">
      <button type="button" onClick={toggle}>
        <span aria-hidden="true">{isPlaying ? "❚❚" : "▶"}</span> {isPlaying ? "Pause" : "Play"}
      </button>
      <select
        aria-label="Speed"
        value={speed}
        onChange={({ currentTarget }) => setSpeed(currentTarget.value as keyof typeof speeds)}
      >
        {Object.keys(speeds).map((one) => <option>{one}</option>)}
      </select>
    </div>
  );
}
