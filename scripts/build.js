// Usage: node scripts/build.js [folder]
import { bundle } from './bundle.js';

await bundle(process.argv[2] ?? 'dist');
