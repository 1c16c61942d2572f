import { createRoot } from "react-dom/client";
import { App } from "./shell/app";
import { connect } from "./store";
import "./styles/tokens.css";
import "./styles/page.css";
import "./styles/parts.css";
import "./styles/form.css";
import "./styles/wire.css";
import "./styles/lint.css";
import "./styles/extensions.css";

const page = document.getElementById("page");
if (page) {
  void connect();
  // The page shows what it could not draw.
  createRoot(page, { onCaughtError: () => undefined }).render(<App />);
}
