/** Sign-in at a company's provider in a real browser, with an official client. */
import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { Company, clientAt } from '../interaction/authserver/company.ts';
import { freePort } from '../interaction/harness/ports.ts';
import { openPage } from './chromium.ts';
import { type ConsoleCase, violationsOn } from './console-cases.ts';
import { startAuthorized } from './gateway.ts';
import { SdkClient } from './sdk-client.ts';

export const companyCases: readonly ConsoleCase[] = [
  {
    title: 'a person signs in at the company that knows neither registration nor resource, and the SDK client gets in',
    verifies: ['gateway:authserver:company'],
    run: async (chromium, shots) => {
      const port = await freePort();
      const gateway = await startAuthorized({ provider: clientAt(port) });
      const company = await Company.start(port, gateway.origin);
      const context = await chromium.newContext();
      const { page, complaints } = await openPage(context);
      const first = await SdkClient.start(gateway.url);
      await page.goto(await first.asks);
      const shown = await page.locator('main').innerText();
      for (const part of ['A desktop program', '127.0.0.1', 'Example Inc.']) assert.ok(shown.includes(part), shown);
      assert.deepEqual(await violationsOn(page), []);
      if (shots !== undefined) await page.screenshot({ path: join(shots, 'company-consent.png'), fullPage: true });
      await page.getByRole('button', { name: 'Allow and continue to Example Inc.' }).click();
      await page.getByRole('link', { name: 'ada' }).click();
      await page.getByText('The client has its answer').waitFor();
      assert.ok(Array.isArray(await first.useTool()));
      // Both sides know the browser now; the person is asked about the next client all the same.
      const second = await SdkClient.start(gateway.url);
      await page.goto(await second.asks);
      await page.getByText('ada of the company').first().waitFor();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('The client has its answer').waitFor();
      assert.ok(Array.isArray(await second.useTool()));
      assert.deepEqual(complaints, []);
      await context.close();
      await Promise.all([first.stop(), second.stop()]);
      company.close();
      await gateway.stop();
    },
  },
];
