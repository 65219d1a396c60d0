// Loaded into a replica of the campaign: its connections come from an address of its own, so that a relay can tell the
// replicas apart, as a network can.
import { Socket } from 'node:net';

const { CAMPAIGN_ADDRESS: localAddress } = process.env;
const connect = Socket.prototype.connect;
Socket.prototype.connect = function (...args) {
  const [first] = args;
  const options = Array.isArray(first) ? first[0] : first;
  if (typeof options === 'object' && options !== null && options.path === undefined)
    options.localAddress ??= localAddress;
  return connect.apply(this, args);
};
