// lib.js - the libraries under one name: components are functions, markup is htm's.
import { h, render, Fragment, Component } from './preact.js';
import { useEffect, useMemo, useReducer, useRef, useState } from './hooks.js';
import htm from './htm.js';

export const html = htm.bind(h);
export { render, Fragment, Component, useEffect, useMemo, useReducer, useRef, useState };
