/** The features of features.ts, the client over http and the backend over http. */
import { featureMatrix } from './feature-matrix.ts';

featureMatrix({ client: 'http', backend: 'http' });
