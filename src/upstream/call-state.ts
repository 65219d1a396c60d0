/**
 * The states of a call to a backend, and the events that lead from one to the next.
 *
 *   created   The backend has nothing yet.
 *   queued    The call waits for a slot.
 *   sending   The channel is taking the request. The caller does not have the call yet, so an outcome is told later.
 *   sent      The channel has the request.
 *   over      Settled, failed or cancelled. Everything that arrives from here on is ignored.
 *
 *   from      wait     send      sent    end
 *   created   queued   sending   -       over
 *   queued    -        sending   -       over
 *   sending   -        -         sent    over
 *   sent      -        -         -       over
 */

export type CallState = 'created' | 'queued' | 'sending' | 'sent' | 'over';
export type CallEvent = 'wait' | 'send' | 'sent' | 'end';

export const transitions: Readonly<Record<CallState, Readonly<Partial<Record<CallEvent, CallState>>>>> = {
  created: { wait: 'queued', send: 'sending', end: 'over' },
  queued: { send: 'sending', end: 'over' },
  sending: { sent: 'sent', end: 'over' },
  sent: { end: 'over' },
  over: {},
};
