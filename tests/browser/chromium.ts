/** A real browser, with nothing remembered and nothing fetched behind our back. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { who } from './gateway.ts';

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Throws where there is none: a run that skips everything would look like one that passed. */
export async function startChromium(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) throw new Error(`there is no ${EXECUTABLE}; CHROMIUM names another one`);
  return chromium.launch({ executablePath: EXECUTABLE, args: flags });
}

/** What a browser complains of on its console: a policy that a page breaks, above all. */
export interface Watched {
  readonly page: Page;
  readonly complaints: readonly string[];
}

export async function openPage(context: BrowserContext): Promise<Watched> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // That a form was answered with a 400 is what was asked for.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text());
    }
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

/** By what a person sees and a screen reader says: labels and the names of buttons. */
export async function signIn(page: Page, { name, password } = who): Promise<void> {
  await page.getByLabel('User name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export async function allow(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Allow' }).click();
}
