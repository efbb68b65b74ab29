import { useConsole } from "../console-context.ts";
import { type PageTheme, setTheme, themes } from "./theme.ts";

/** The switch between themes. */
export function ThemeSwitch() {
  const { theme } = useConsole();
  return (
    <div class="themes" role="group" aria-label="Theme">
      {(Object.keys(themes) as PageTheme[]).map((one) => (
        <button
          type="button"
          class="chip"
          aria-pressed={theme.value === one}
          onClick={() => setTheme(theme, one)}
        >
          {themes[one]}
        </button>
      ))}
    </div>
  );
}
