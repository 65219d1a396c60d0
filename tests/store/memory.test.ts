import { MemoryBus, MemoryEventLog, MemoryLease } from '../../src/store/memory.ts';
import { busContract, eventLogContract, leaseContract } from './contract.ts';

eventLogContract(
  'memory',
  ({ events, bytes }) =>
    new MemoryEventLog({ eventsPerStream: events, eventBytesPerStream: bytes, eventBytesTotal: 1_000_000 }),
);
busContract('memory', () => new MemoryBus());
leaseContract('memory', (now) => new MemoryLease(now));
