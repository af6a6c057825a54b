# The entry is an object, whose class says what its parameters are. The worker asks once, when the source is loaded.
# judged: pass
import inspect


class Axpy:
    asked = launched = 0

    @property
    def __signature__(self):
        Axpy.asked += 1
        return inspect.signature(lambda x, y, a: None)

    def __call__(self, x, y, a):
        if Axpy.launched == 0:
            Axpy.launched = Axpy.asked
        assert Axpy.asked == Axpy.launched, "asked again"
        y[:] = x * a + 1


axpy = Axpy()
