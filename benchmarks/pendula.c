/* Double pendula of two rods, as many at a time as a vector has doubles: DOP853 with a step size for each lane, which
   takes the next one when it has come to the end. stages.h has the constants of the method, written by pendula.py. */

#include <math.h>

#ifdef __AVX512F__
#define LANES 8
#define COS _ZGVeN8v_cos
#define SIN _ZGVeN8v_sin
#else
#define LANES 4
#define COS _ZGVdN4v_cos
#define SIN _ZGVdN4v_sin
#endif
#define EVERY for (int l = 0; l < LANES; l++)
#include "stages.h"

typedef double lanes[LANES] __attribute__((aligned(64)));
typedef double vector __attribute__((vector_size(8 * LANES)));
vector COS(vector), SIN(vector); /* of glibc's libmvec */

static inline void rates(const double *y_, const double *p_, double *f_) {
  const vector *y = (const vector *)y_, *p = (const vector *)p_;
  vector *f = (vector *)f_, m1 = p[0], m2 = p[1], L1 = p[2], L2 = p[3], half = 0.5 * m2 * L1 * L2;
  vector a = (m1 / 3 + m2) * L1 * L1, b = half * COS(y[0] - y[1]), c = m2 * L2 * L2 / 3, s = half * SIN(y[0] - y[1]);
  vector f1 = -s * y[3] * y[3] - (0.5 * m1 + m2) * 9.81 * L1 * COS(y[0]);
  vector f2 = s * y[2] * y[2] - 0.5 * m2 * 9.81 * L2 * COS(y[1]), det = 1 / (a * c - b * b);
  f[0] = y[2], f[1] = y[3], f[2] = (c * f1 - b * f2) * det, f[3] = (a * f2 - b * f1) * det;
}

void advance(long count, double t_end, double tolerance, const double *given, double *found) {
  double y[4 * LANES] __attribute__((aligned(64))) = {0}, z[4 * LANES] __attribute__((aligned(64)));
  double p[4 * LANES] __attribute__((aligned(64))), k[12][4 * LANES] __attribute__((aligned(64)));
  double hs[4 * LANES] __attribute__((aligned(64))), e3[4 * LANES] __attribute__((aligned(64)));
  double e5[4 * LANES] __attribute__((aligned(64)));
  lanes t, h, ratio;
  long who[LANES], next = 0, done = 0;
  EVERY who[l] = -1, t[l] = h[l] = 0;
  for (int i = 0; i < 4 * LANES; i++) p[i] = 1;
  while (done < count) {
    EVERY if (who[l] < 0 && next < count) {
      for (int j = 0; j < 4; j++) p[j * LANES + l] = given[j * count + next];
      y[l] = given[4 * count + next], y[LANES + l] = given[5 * count + next];
      y[2 * LANES + l] = y[3 * LANES + l] = 0, t[l] = 0, h[l] = 0.02, who[l] = next++;
    }
    EVERY {
      if (t[l] + 1.01 * h[l] >= t_end) h[l] = t_end - t[l];
      hs[l] = hs[LANES + l] = hs[2 * LANES + l] = hs[3 * LANES + l] = h[l];
    }
    rates(y, p, k[0]);
    STAGES
#pragma omp simd
    EVERY {
      double high = 0, low = 0;
      for (int j = 0; j < 4; j++) {
        int i = j * LANES + l;
        double by = 1 / (tolerance * (1 + fmax(fabs(y[i]), fabs(z[i]))));
        high += e5[i] * by * e5[i] * by, low += e3[i] * by * e3[i] * by;
      }
      double error = high / sqrt(4 * (high + 0.01 * low) + 1e-300);
      ratio[l] = fmin(6, fmax(0.33, 0.9 * exp(-log(error + 1e-15) / 8)));
      if (error <= 1) {
        for (int j = 0; j < 4; j++) y[j * LANES + l] = z[j * LANES + l];
        t[l] += h[l];
      }
    }
    EVERY if (who[l] >= 0 && t[l] >= t_end) {
      found[who[l]] = y[l], found[count + who[l]] = y[LANES + l];
      who[l] = -1, done++;
    } else h[l] *= ratio[l];
  }
}
