/** The checks as a table: ids, sections and revisions. */
import { describe, expect, it } from 'vitest';
import { checkRows } from '../../src/doctor/check/run.ts';
import { findings, ruleLink } from '../../src/doctor/findings.ts';
import { revisions } from '../../src/wire/revisions.ts';
import { catalogue } from '../requirements/catalogue.ts';
import { verifies } from '../requirements/verifies.ts';

describe('every check', verifies('gateway:check:catalogue'), () => {
  it('has an id of its own, which is one of the catalogue', () => {
    const ids = checkRows.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !Object.hasOwn(catalogue, id.split('#', 1)[0] ?? ''))).toEqual([]);
  });

  it('has a sentence, a section of the specification, and revisions that exist', () => {
    for (const { behaviour, spec, revisions: asked } of checkRows) {
      expect(behaviour).toMatch(/^[A-Z`].*\.$/);
      expect(ruleLink(spec)).toMatch(
        /^https:\/\/(modelcontextprotocol\.io\/specification\/20|datatracker\.ietf\.org\/)/,
      );
      expect(asked.length).toBeGreaterThan(0);
      expect(revisions).toEqual(expect.arrayContaining([...asked]));
    }
  });

  it('is one of at least 40, in each era', () => {
    for (const isModern of [true, false])
      expect(
        checkRows.filter(({ revisions: asked }) => asked.some((one) => one >= '2026-07-28' === isModern)).length,
      ).toBeGreaterThanOrEqual(40);
  });
});

it('every finding has a rule and a cure', () => {
  for (const { what, rule, cure } of Object.values(findings)) {
    expect(what).not.toBe('');
    expect(ruleLink(rule)).toMatch(/^https:\/\//);
    expect(cure).toMatch(/\.$/);
  }
});
