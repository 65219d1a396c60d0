/** Tries a tool as the signed-in person, on the way that every call takes. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { post } from './api.ts';
import type { ShownTry, ToolFacts } from './facts.ts';
import { milliseconds } from './format.ts';
import { Badge, Pre, Section, Trouble } from './parts.ts';

export function TryTool({
  tool,
  endpoint,
  close,
}: {
  readonly tool: ToolFacts;
  readonly endpoint: string;
  readonly close: () => void;
}) {
  const [text, setText] = useState(() => JSON.stringify(exampleOf(tool.inputSchema), null, 2));
  const [tried, setTried] = useState<ShownTry | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  // The form is above the list, in which the person may be far down.
  useEffect(() => window.scrollTo({ top: 0 }), [tool]);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      setTried(await post<ShownTry>('/tools/try', { endpoint, tool: tool.name, arguments: JSON.parse(text) }));
    } catch (cause) {
      setError(
        cause instanceof SyntaxError ? `The arguments are not JSON: ${cause.message}` : (cause as Error).message,
      );
    }
    setBusy(false);
  };
  const { outcome, ms, ...shown } = tried ?? { outcome: '', ms: undefined };
  return html`<${Section} title=${`Try ${tool.name}`} aside=${`at ${endpoint}, as you: it really happens`}>
    <form onSubmit=${send}>
      <label class="field wide">Arguments, as JSON<textarea rows="6" value=${text} spellcheck=${false}
        onInput=${(event: Event) => setText((event.currentTarget as HTMLTextAreaElement).value)}></textarea></label>
      <div class="acts"><button disabled=${isBusy}>${isBusy ? 'Calling' : 'Call'}</button><button type="button" class="quiet" onClick=${close}>Close</button></div>
    </form>
    <${Trouble} error=${error} />
    ${tried && html`<p role="status"><${Badge} state=${outcome === 'result' ? 'ok' : outcome} /> ${milliseconds(ms)}</p><${Pre} label="Answer" text=${JSON.stringify(shown, null, 2)} />`}
  </${Section}>`;
}

/** The required members of a schema, empty. */
function exampleOf(schema: unknown): Record<string, unknown> {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly default?: unknown }>>;
    readonly required?: readonly string[];
  };
  const empty: Readonly<Record<string, unknown>> = {
    string: '',
    number: 0,
    integer: 0,
    boolean: false,
    array: [],
    object: {},
  };
  return Object.fromEntries(
    required.map((name) => [name, properties[name]?.default ?? empty[String(properties[name]?.type)] ?? null]),
  );
}
