"""MobileNetV2 of Keras' applications, its weights random."""

import keras


def get_model() -> keras.Model:
    return keras.applications.MobileNetV2(weights=None)
