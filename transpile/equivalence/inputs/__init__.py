"""Inputs that a program is compared on."""
