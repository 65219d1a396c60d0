/** The features of features.ts, the client over http and the backend over stdio. */
import { featureMatrix } from './feature-matrix.ts';

featureMatrix({ client: 'http', backend: 'stdio' });
