// What an editor of queries has beside CodeMirror's own: words to take, the page's theme, and a name for who listens.
import { EditorState, StateEffect, languages } from "nicegui-codemirror";
import { jsonWords } from "./json_words.js";
import { sqlWords } from "./sql_words.js";

const SOURCES = { JSON: jsonWords, SQL: sqlWords };

// `component` is NiceGUI's CodeMirror in `host`, whose attributes say the language and the names that exist.
export function equip(component, host) {
  const text = host.querySelector(".cm-content");
  if (text === null) return; // somebody left the view before this was loaded
  text.tabIndex = 0;
  text.setAttribute("aria-label", host.getAttribute("aria-label"));
  followTheme(component, host);
  offer(component.editor, SOURCES[host.dataset.language](JSON.parse(host.dataset.known)));
  colour(component, host.dataset.language);
}

function followTheme(component, host) {
  const recolour = () => {
    component.setTheme(document.body.classList.contains("body--dark") ? "githubDark" : "githubLight");
    if (!host.isConnected) themes.disconnect();
  };
  const themes = new MutationObserver(recolour);
  themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  recolour();
}

function offer(editor, autocomplete) {
  const words = EditorState.languageData.of(() => [{ autocomplete }]);
  editor.dispatch({ effects: StateEffect.appendConfig.of(words) });
}

// The language without what comes with it: the words of standard SQL mean nothing here.
async function colour(component, name) {
  const { language } = await languages.find((each) => each.name === name).load();
  component.editor.dispatch({ effects: component.languageConfig.reconfigure(language) });
}
