import { Component, type ComponentChildren } from "preact";

/** A part that is drawn again only when its properties differ. */
export function memo<P extends object>(
  draw: (props: P) => ComponentChildren,
  isSame: (before: P, after: P) => boolean,
): new (props: P) => Component<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !isSame(this.props, next);
    }
    override render(): ComponentChildren {
      return draw(this.props);
    }
  };
}
