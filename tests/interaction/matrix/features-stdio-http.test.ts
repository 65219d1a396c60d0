/** The features of features.ts, the client over stdio and the backend over http. */
import { featureMatrix } from './feature-matrix.ts';

featureMatrix({ client: 'stdio', backend: 'http' });
