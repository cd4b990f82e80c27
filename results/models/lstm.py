"""An LSTM over fifty steps of sixteen sensors, in Keras."""

import keras
from keras import layers


def get_model() -> keras.Model:
    return keras.Sequential([keras.Input((50, 16)), layers.LSTM(64), layers.Dense(8)])
