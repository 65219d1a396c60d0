/** The header by which a gateway recognises a request of its own that came back to it. Its value is random for each process. */
export const VIA = 'bascule-via';
