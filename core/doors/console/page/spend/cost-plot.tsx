import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import { useConsole } from "../console-context.ts";

/** The parts of all bars in one look, as a layer of the plot. */
export interface PlotLayer {
  /** As in CSS. */
  colour: string;
  /** Whether it is a frame: a cost that is estimated. */
  isFrame: boolean;
  /** Ends of the parts; null for a bar without one. */
  tops: readonly (number | null)[];
}

interface CostPlotProps {
  /** The lowest first. */
  layers: readonly PlotLayer[];
  /** Below each bar, in lines. */
  names: readonly string[];
  /** Above each bar, in lines. */
  sums: readonly string[];
  /** The bar that is marked; -1: none. */
  chosen: number;
  /** Writes an amount of the scale. */
  text: (amount: number) => string;
  /** Called with the bar under the pointer; -1: none. */
  point: (at: number) => void;
  choose: (at: number) => void;
}

const height = 240;
/** Room for a sum, in pixels. */
const sumWidth = 70;

/** A plot of stacked bars. It is for the eye and the pointer: the figures must stand beside it, too. */
export function CostPlot(props: CostPlotProps) {
  const element = useRef<HTMLDivElement>(null);
  const now = useRef(props);
  now.current = props;
  const drawn = useRef<UPlot | null>(null);
  const { theme } = useConsole();
  useEffect(() => {
    const field = element.current;
    if (field === null) return;
    const plot = new UPlot(optionsOf(field, now), dataOf(props), field);
    drawn.current = plot;
    const sizes = new ResizeObserver(() => plot.setSize({ width: field.clientWidth, height }));
    sizes.observe(field);
    const redraw = () => plot.redraw();
    const looks = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((query) => matchMedia(query));
    for (const look of looks) look.addEventListener("change", redraw);
    const leave = theme.subscribe(redraw);
    return () => {
      leave();
      for (const look of looks) look.removeEventListener("change", redraw);
      sizes.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify([props.layers, props.names])]);
  useEffect(() => drawn.current?.redraw(), [props.chosen]);
  return (
    <div class="cost-plot" aria-hidden="true" ref={element}>
      <svg>{coloursOf(props).map((colour) => <rect fill={colour} />)}</svg>
    </div>
  );
}

/** Colours of the lines, the mark and the layers. The page's style resolves them: a canvas knows no variables. */
function coloursOf({ layers }: CostPlotProps): string[] {
  return ["var(--line)", "var(--mark)", ...layers.map(({ colour }) => colour)];
}

function dataOf({ layers, names }: CostPlotProps): UPlot.AlignedData {
  return [names.map((_, at) => at), ...layers.toReversed().map(({ tops }) => [...tops])];
}

function optionsOf(field: HTMLDivElement, now: { current: CostPlotProps }): UPlot.Options {
  const { layers, names, text } = now.current;
  const colours = coloursOf(now.current);
  const colourOf = (name: string) =>
    getComputedStyle(field.querySelectorAll("rect")[colours.indexOf(name)] ?? field).fill;
  const look = () => getComputedStyle(field);
  const axis: UPlot.Axis = { stroke: () => look().color, font: "12px system-ui, sans-serif", ticks: { show: false } };
  const days = (splits: number[]) => splits.map((at) => names[at] ?? null);
  return {
    width: field.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.5, names.length - 0.5] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.2 : 1] },
    },
    axes: [
      { ...axis, size: 44, grid: { show: false }, incrs: [1, 2, 5, 10], values: (_, splits) => days(splits) },
      {
        ...axis,
        size: 64,
        grid: { stroke: () => colourOf("var(--line)") },
        values: (_, splits) => splits.map(text),
      },
    ],
    series: [{}, ...layers.toReversed().map((layer) => seriesOf(layer, { colourOf, look }))],
    hooks: {
      drawClear: [(plot) => markBar(plot, now.current.chosen, colourOf("var(--mark)"))],
      draw: [(plot) => writeSums(plot, now.current, look().color)],
      setCursor: [({ cursor: { idx } }) => now.current.point(idx ?? -1)],
      ready: [(plot) => plot.over.addEventListener("click", () => now.current.choose(plot.cursor.idx ?? -1))],
    },
  };
}

/** Draws a layer from the ground up: the next ones, which end lower, cover what is theirs. */
function seriesOf(
  { colour, isFrame }: PlotLayer,
  { colourOf, look }: { colourOf: (name: string) => string; look: () => CSSStyleDeclaration },
): UPlot.Series {
  return {
    fill: () => isFrame ? look().backgroundColor : colourOf(colour),
    stroke: () => colourOf(colour),
    width: isFrame ? 1 : 0,
    dash: [3, 2],
    points: { show: false },
    // Narrower than what stands below it, so that its sides are covered there.
    paths: UPlot.paths.bars?.({ size: [0.72], gap: isFrame ? 1 : 0 }) ?? (() => null),
  };
}

function markBar({ ctx, bbox, valToPos }: UPlot, at: number, colour: string): void {
  if (at < 0) return;
  ctx.save();
  const [left, right] = [valToPos(at - 0.5, "x", true), valToPos(at + 0.5, "x", true)];
  ctx.fillStyle = colour;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.restore();
}

/** Writes the sums above the bars, where there is room for them. */
function writeSums({ ctx, bbox, valToPos }: UPlot, { layers, sums }: CostPlotProps, colour: string): void {
  const unit = devicePixelRatio;
  if (bbox.width / sums.length < sumWidth * unit) return;
  // The plot keeps in mind what it has set itself.
  ctx.save();
  ctx.font = `600 ${12 * unit}px system-ui, sans-serif`;
  ctx.fillStyle = colour;
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  for (const [at, sum] of sums.entries()) {
    const top = valToPos(Math.max(0, ...layers.map(({ tops }) => tops[at] ?? 0)), "y", true);
    for (const [line, words] of sum.split("\n").reverse().entries()) {
      ctx.fillText(words, valToPos(at, "x", true), top - (3 + 15 * line) * unit);
    }
  }
  ctx.restore();
}
