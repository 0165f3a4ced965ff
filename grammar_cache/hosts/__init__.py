"""Hosts: engines that other people run, each asking for masks in its own way."""
