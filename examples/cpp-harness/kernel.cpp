// y[i] = the sum of x[0] … x[i].
extern "C" void prefix_sum(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j <= i; j++) sum += x[j];
        y[i] = (float)sum;
    }
}
