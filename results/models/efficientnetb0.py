"""EfficientNetB0 of Keras' applications, its weights random."""

import keras


def get_model() -> keras.Model:
    return keras.applications.EfficientNetB0(weights=None)
