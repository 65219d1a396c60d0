/** Exchanges the token of the link for a cookie. The token stands after `#`, so it is in no log and no history. */
const token = /^#enter=([\w-]+)$/.exec(window.location.hash)?.[1];

async function enter(): Promise<void> {
  window.history.replaceState(null, '', window.location.pathname);
  const headers = { 'content-type': 'application/json' };
  const response = await fetch('/console/enter', { method: 'POST', headers, body: JSON.stringify({ token }) });
  if (response.ok) {
    window.location.reload();
    return;
  }
  const { error } = await response.json();
  const outcome = document.getElementById('outcome');
  if (outcome !== null) outcome.textContent = `${error.message}.`;
}

if (token !== undefined) void enter();

export {};
