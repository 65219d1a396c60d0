/** The frame of the console: navigation, and the page that the address names after its `#`. */
import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useFacts } from './api.ts';
import { ApprovalsPage } from './approvals.ts';
import { CallsPage } from './calls.ts';
import type { Me } from './facts.ts';
import { OverviewPage } from './overview.ts';
import { Trouble } from './parts.ts';
import { PeoplePage } from './people.ts';
import { PolicyPage } from './policy.ts';
import { ToolsPage } from './tools.ts';

const pages = [
  { name: 'overview', title: 'Overview' },
  { name: 'calls', title: 'Calls' },
  { name: 'tools', title: 'Tools' },
  { name: 'people', title: 'People' },
  { name: 'policy', title: 'Policy' },
] as const;
const approvalsPage = { name: 'approvals', title: 'Approvals' } as const;

/** Who may not look at the others still has the questions that they may answer. */
function pagesFor({ rights, isAsking }: Me) {
  return [...(rights.includes('view') ? pages : []), ...(isAsking ? [approvalsPage] : [])];
}

interface Place {
  readonly page: string;
  readonly id: string | undefined;
}

function placeNow(): Place {
  const [, page = 'overview', id] = window.location.hash.split('/');
  return { page, id };
}

function App() {
  const [place, setPlace] = useState(placeNow);
  useEffect(() => {
    const move = () => setPlace(placeNow());
    window.addEventListener('hashchange', move);
    return () => window.removeEventListener('hashchange', move);
  }, []);
  // People who come later are to choose from as well.
  const { value: me, error } = useFacts<Me>('/me', {}, 15_000);
  const shown = me === undefined ? [] : pagesFor(me);
  const { name: page, title } = shown.find(({ name }) => name === place.page) ?? shown[0] ?? pages[0];
  useEffect(() => {
    document.title = `${title} · Bascule console`;
  }, [title]);
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <span class="brand">Bascule</span>
      <nav aria-label="Pages">${shown.map(
        ({ name, title: text }) =>
          html`<a href="#/${name}" aria-current=${title === text ? 'page' : undefined}>${text}</a>`,
      )}</nav>
      <form class="me" method="post" action="/console/sign-out"><span class="soft">${me?.who}</span><button class="small quiet">Sign out</button></form>
    </header>
    <main id="main" tabindex="-1">
      <h1 class="unseen">${title}</h1>
      <${Trouble} error=${error} />
      ${me && html`<${Page} place=${{ page, id: place.id }} me=${me} />`}
    </main>`;
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Page({ place: { page, id }, me }: { readonly place: Place; readonly me: Me }) {
  switch (page) {
    case 'calls':
      return html`<${CallsPage} selected=${id === undefined ? undefined : Number(id)} open=${() => window.location.assign('#/calls')} />`;
    case 'approvals':
      return html`<${ApprovalsPage} selected=${id} />`;
    case 'tools':
      return html`<${ToolsPage} me=${me} />`;
    case 'people':
      return html`<${PeoplePage} me=${me} />`;
    case 'policy':
      return html`<${PolicyPage} me=${me} />`;
    default:
      return html`<${OverviewPage} />`;
  }
}

const root = document.getElementById('app');
if (root !== null) {
  root.textContent = '';
  render(html`<${App} />`, root);
}
