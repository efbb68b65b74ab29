// A script of its own that a browser runs before the first picture, so it imports nothing: another colour never flashes.
{
  const show = () => {
    let kept: string | null = null;
    try {
      kept = localStorage.getItem("bulkhead-theme");
    } catch {
      // A browser may refuse its storage: then the page looks as the system does.
    }
    if (kept === "light" || kept === "dark") document.documentElement.dataset["theme"] = kept;
    else delete document.documentElement.dataset["theme"];
  };
  show();
  addEventListener("storage", show);
}
